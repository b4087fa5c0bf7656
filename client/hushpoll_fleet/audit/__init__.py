"""The audit of the SDKs: the epsilon that they really spend, measured on the records they make."""
