"""How a query and its result are declared, written, read, and shown as table, text and options.

A statistic is declared once, in a module of :mod:`hushpoll_shared.queries`; this room reads the
declaration, and so do the server's routes and the analyst's client. What its results say beside
their numbers is in :mod:`hushpoll_shared.qualifying`, rows that several share are in
:mod:`hushpoll_shared.queries.parts`. A worked example, whole::

    # shared/hushpoll_shared/queries/largest_share.py
    @dataclass(frozen=True, kw_only=True)
    class LargestShare(Result):
        \"\"\"The answer that was given most often.\"\"\"          # of the result, in OpenAPI

        title: ClassVar[str] = "largest share"                  # of the table file

        attribute: str                                          # members of the JSON, in order
        n: int
        confidence: float
        intervals: str = member(HOW_TO_READ)
        largest: BoundedCategory                                # a row of the parts, or your own

        def sections(self) -> Iterator[Section]:                # the text's tables, the file's rows
            yield Section(of=BoundedCategory, rows=(self.largest,), title=self.attribute,
                          words={"category": "category"}, shown=ESTIMATE,
                          possible=SHARES)              # to which shown intervals are cut

        def reaches(self) -> Iterator[Reach]:                   # for the verdict; may be left out:
            yield reach_of_share(                               # rows are then shares of a question
                self.attribute, half_width([self.largest]), 2   # that must be known to a quarter
            )

    @dataclass(frozen=True, kw_only=True)
    class Largest(Query[LargestShare]):
        \"\"\"Estimate the share of the answer that was given most often.\"\"\"

        name: ClassVar[str] = "largest-share"                   # route, log
        command: ClassVar[str] = "relate largest"               # and "records largest" of a file
        summary: ClassVar[str] = "Show the largest share."      # in the list of commands
        example: ClassVar[str] = "health"                       # its arguments in the help
        looked_at: ClassVar[str] = "the largest share"          # the action log's words

        attribute: str = parameter(
            "Attribute whose answers are counted.", positional=True, attribute=True
        )
        confidence: float = confidence()

    # server/hushpoll_analysis/estimates/largest.py
    def largest(query: Largest, source: Source) -> LargestShare: ...

    # server/hushpoll_analysis/query_results.py: one line of RESULTS
    Largest: largest,

The verdict needs nothing else: the same function is asked for the intervals that the expected
counts of such a survey have (:mod:`hushpoll_analysis.verdicts`), and `reaches` says how wide they
may be to tell something.

``python -m hushpoll_shared.queries`` prints where each query is declared.
"""
