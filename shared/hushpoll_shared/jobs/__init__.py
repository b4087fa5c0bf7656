"""What a server's workers may be asked for: a class for each kind of job, as queries have one.

A job is a query that needs records, or work that takes long. Its declaration is read by the route
with its body and its text, by the client, the options of commands, the forms of the dashboard, the
action log, the kept results and the worker. ``hushpoll_server.jobs.kinds`` has the work itself: a
function of the services, a survey's version and the job that is asked for. A whole one::

    # shared/hushpoll_shared/jobs/analyses.py, and its name in jobs/registry.py
    @dataclass(frozen=True, kw_only=True)
    class Rank(Job):
        \"\"\"Ask a worker to rank the categories of an attribute.\"\"\"     # the route's text

        name: ClassVar[str] = "rank"                            # route, file, log
        scope: ClassVar[str] = "read"                           # of the token that asks
        words: ClassVar[str] = "a ranking"                      # of the action log
        body: ClassVar[str] = "What is ranked."                 # of the parameters, in OpenAPI

        attribute: Word = parameter("Attribute whose categories are ranked.")
        confidence: float = confidence_of("intervals")

    # server/hushpoll_server/jobs/kinds.py, and a line of KINDS
    def rank(parts: Services, row: VersionRow, asked: Rank, say: OnStep) -> Result: ...
"""
