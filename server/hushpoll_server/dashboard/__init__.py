"""The analyst's dashboard: pages for people who sign in, which need no script to be read."""
