"""The page *New survey*: drafts as forms and as YAML, with what stands beside them."""
