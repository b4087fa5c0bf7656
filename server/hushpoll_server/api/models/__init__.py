"""Bodies of requests and answers, as OpenAPI documents them: a module for each resource."""
