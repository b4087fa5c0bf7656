CREATE TABLE surveys (
    id INTEGER NOT NULL,
    name VARCHAR(255) NOT NULL,
    CONSTRAINT pk_surveys PRIMARY KEY (id),
    CONSTRAINT uq_surveys_name UNIQUE (name)
);
CREATE TABLE inbox (
    version_id INTEGER NOT NULL,
    report_id BLOB NOT NULL,
    record BLOB NOT NULL,
    CONSTRAINT pk_inbox PRIMARY KEY (version_id, report_id)
)
 WITHOUT ROWID;
CREATE TABLE sealed_ids (
    version_id INTEGER NOT NULL,
    age INTEGER NOT NULL,
    first BLOB NOT NULL,
    tags BLOB NOT NULL,
    ids BLOB NOT NULL,
    CONSTRAINT pk_sealed_ids PRIMARY KEY (version_id, age, first)
);
CREATE TABLE api_tokens (
    id VARCHAR(16) NOT NULL,
    hash BLOB NOT NULL,
    label VARCHAR(200) NOT NULL,
    scopes VARCHAR(200) NOT NULL,
    expires_at BIGINT,
    revoked BOOLEAN NOT NULL,
    issued_at BIGINT,
    replaced_by VARCHAR(16),
    CONSTRAINT pk_api_tokens PRIMARY KEY (id)
);
CREATE TABLE write_probe (
    id INTEGER NOT NULL,
    data BLOB NOT NULL,
    CONSTRAINT pk_write_probe PRIMARY KEY (id)
);
CREATE TABLE survey_versions (
    id INTEGER NOT NULL,
    survey_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    digest VARCHAR(64) NOT NULL,
    title VARCHAR NOT NULL,
    canonical BLOB NOT NULL,
    record_size INTEGER NOT NULL,
    minimum_batch INTEGER NOT NULL,
    opens BIGINT,
    closes BIGINT,
    closed_at BIGINT,
    accepts_until BIGINT,
    ended BOOLEAN DEFAULT 0 NOT NULL,
    release VARCHAR(16) DEFAULT 'daily' NOT NULL,
    next_release BIGINT,
    CONSTRAINT pk_survey_versions PRIMARY KEY (id),
    CONSTRAINT uq_survey_versions_survey_id_version UNIQUE (survey_id, version),
    CONSTRAINT fk_survey_versions_survey_id_surveys FOREIGN KEY(survey_id) REFERENCES surveys (id),
    CONSTRAINT uq_survey_versions_digest UNIQUE (digest)
);
CREATE TABLE respondent_tokens (
    hash BLOB NOT NULL,
    survey_id INTEGER NOT NULL,
    CONSTRAINT pk_respondent_tokens PRIMARY KEY (hash),
    CONSTRAINT fk_respondent_tokens_survey_id_surveys FOREIGN KEY(survey_id) REFERENCES surveys (id)
)
 WITHOUT ROWID;
CREATE TABLE survey_origins (
    survey_id INTEGER NOT NULL,
    origin VARCHAR(255) NOT NULL,
    CONSTRAINT pk_survey_origins PRIMARY KEY (survey_id, origin),
    CONSTRAINT fk_survey_origins_survey_id_surveys FOREIGN KEY(survey_id) REFERENCES surveys (id)
);
CREATE TABLE segments (
    id INTEGER NOT NULL,
    version_id INTEGER NOT NULL,
    reports INTEGER NOT NULL,
    data BLOB NOT NULL,
    released BOOLEAN DEFAULT 1 NOT NULL,
    CONSTRAINT pk_segments PRIMARY KEY (id),
    CONSTRAINT fk_segments_version_id_survey_versions FOREIGN KEY(version_id) REFERENCES survey_versions (id)
);
CREATE INDEX ix_segments_version_id ON segments (version_id);
CREATE TABLE aggregates (
    version_id INTEGER NOT NULL,
    reports BIGINT NOT NULL,
    support BLOB NOT NULL,
    joint BLOB NOT NULL,
    shuffled BOOLEAN NOT NULL,
    records_deleted_at BIGINT,
    CONSTRAINT pk_aggregates PRIMARY KEY (version_id),
    CONSTRAINT fk_aggregates_version_id_survey_versions FOREIGN KEY(version_id) REFERENCES survey_versions (id)
);
CREATE TABLE releases (
    version_id INTEGER NOT NULL,
    released_at BIGINT NOT NULL,
    reports BIGINT NOT NULL,
    support BLOB NOT NULL,
    joint BLOB NOT NULL,
    refused VARCHAR NOT NULL,
    CONSTRAINT pk_releases PRIMARY KEY (version_id),
    CONSTRAINT fk_releases_version_id_survey_versions FOREIGN KEY(version_id) REFERENCES survey_versions (id)
);
CREATE TABLE counters (
    version_id INTEGER NOT NULL,
    day VARCHAR(10) NOT NULL,
    outcome VARCHAR(64) NOT NULL,
    count BIGINT NOT NULL,
    CONSTRAINT pk_counters PRIMARY KEY (version_id, day, outcome),
    CONSTRAINT fk_counters_version_id_survey_versions FOREIGN KEY(version_id) REFERENCES survey_versions (id)
)
 WITHOUT ROWID;
CREATE TABLE jobs (
    id VARCHAR(32) NOT NULL,
    version_id INTEGER NOT NULL,
    kind VARCHAR(16) NOT NULL,
    parameters VARCHAR NOT NULL,
    state VARCHAR(16) NOT NULL,
    attempt INTEGER NOT NULL,
    owner VARCHAR(32),
    lease_until BIGINT,
    created_at BIGINT NOT NULL,
    finished_at BIGINT,
    error_code VARCHAR(64),
    error_detail VARCHAR,
    media_type VARCHAR(128),
    file_name VARCHAR(255),
    size BIGINT,
    token_id VARCHAR(16),
    started_at BIGINT,
    CONSTRAINT pk_jobs PRIMARY KEY (id),
    CONSTRAINT fk_jobs_version_id_survey_versions FOREIGN KEY(version_id) REFERENCES survey_versions (id)
);
CREATE INDEX ix_jobs_state ON jobs (state);
CREATE TABLE job_results (
    job_id VARCHAR(32) NOT NULL,
    part INTEGER NOT NULL,
    data BLOB NOT NULL,
    CONSTRAINT pk_job_results PRIMARY KEY (job_id, part),
    CONSTRAINT fk_job_results_job_id_jobs FOREIGN KEY(job_id) REFERENCES jobs (id)
);
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO alembic_version VALUES ('0001');
