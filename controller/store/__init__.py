"""The memory: what happened, durably, and the one place where the head advances.

`journal` has the verbs (one verb, one transaction), `queries` the readings, `tables` what both need
from a database; `sqlite` and `memory` are the two databases.
"""
