"""One module a way to reach a model. Each turns a Prompt into a Reply and nothing more."""

DISTRIBUTION = "oneshot-controller"
