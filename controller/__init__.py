"""oneshot: an external controller that proves a coding task done, one fresh model call a step."""

DISTRIBUTION = "oneshot-controller"
