"""The resources of the API that Flask answers, a blueprint each."""
