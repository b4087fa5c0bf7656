"""The commands of simulated respondents: ``simulate``, ``submit``, ``audit`` and ``demo``."""
