"""Audits of a model from records alone: predictions by cross-fitting or from elsewhere."""
