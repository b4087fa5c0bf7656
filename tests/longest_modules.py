"""The modules in which a process is busy for longest.

Where several processes share the suite, they begin with these, so that none is left alone with one
at the end (``--no-loadscope-reorder``). By the processor time of a run; a minute counts, its order
among the others does not.
"""

LONGEST_MODULES = (
    "fleet/test_job_commands",
    "server/dashboard/test_in_a_browser",
    "pinned/test_pinned",
    "analysis/planning/test_planner",
    "analysis/planning/test_goals_of_pairs",
    "training/test_reference_adult",
    "test_walks",
    "server/cli/test_worker",
    "test_readme",
    "training/cli/test_fairness",
    "server/test_killed",
    "analysis/estimates/test_cross_table",
    "training/test_adding",
    "protocols/test_adding",
    "server/processes/test_serving",
    "analysis/estimates/test_joint",
    "server/test_hostile_clients",
    "server/http/test_survey_reports",
    "server/dashboard/test_drafts_in_a_browser",
    "docs/test_site",
    "server/dashboard/test_small_groups",
    "server/test_sign_in_under_attack",
    "server/test_operate",
    "client/delivery/test_timing",
    "server/dashboard/test_blocks_and_follow_ups",
    "training/scale/test_distributed_grid",
    "server/http/test_openapi",
    "training/test_altered_models",
    "lab/experiments/test_engine",
    "server/test_adding_query",
    "test_architecture",
    "server/test_soak",
    "fleet/test_tutorial",
    "training/test_crossfit_coverage",
)
