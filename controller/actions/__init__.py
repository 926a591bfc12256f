"""The hands: one module an action. Only `Hands` performs, and only effects of the journal."""
