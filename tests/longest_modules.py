"""The modules in which a process is busy for longest.

Where several processes share the suite, they begin with these, so that none is left alone with one
at the end (``--no-loadscope-reorder``). By the processor time of a run; a minute counts, its order
among the others does not.
"""

LONGEST_MODULES = (
    "server/dashboard/test_in_a_browser",
    "pinned/test_pinned",
    "server/dashboard/test_drafts_in_a_browser",
    "test_walks",
    "docs/test_site",
    "analysis/planning/test_planner",
    "server/http/test_survey_reports",
    "fleet/test_job_commands",
    "test_readme",
    "training/test_reference_adult",
    "server/test_killed",
    "analysis/planning/test_goals_of_pairs",
    "server/test_hostile_clients",
    "server/processes/test_serving",
    "training/test_adding",
    "server/dashboard/test_small_groups",
    "server/http/test_openapi",
    "analysis/estimates/test_joint",
    "server/cli/test_worker",
    "training/cli/test_fairness",
    "lab/experiments/test_engine",
    "training/scale/test_distributed_grid",
    "server/test_operate",
    "server/test_sign_in_under_attack",
    "client/delivery/test_timing",
    "protocols/test_adding",
    "server/test_adding_query",
    "server/dashboard/test_blocks_and_follow_ups",
    "training/cli/test_train",
    "analysis/estimates/test_cross_table",
    "test_architecture",
    "server/test_soak",
    "fleet/test_tutorial",
    "training/test_crossfit_coverage",
)
