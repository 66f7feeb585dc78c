-- The same statements run on SQLite and PostgreSQL. Times are microseconds
-- since 1970 in UTC (0: none), durations nanoseconds, flags 0 or 1, lists and
-- nested records JSON.

-- +goose Up

-- Who holds a scope: writes that carry another run or attempt are refused.
CREATE TABLE fences (
    scope   TEXT NOT NULL PRIMARY KEY,
    run     TEXT NOT NULL,
    attempt BIGINT NOT NULL
);

-- Counters whose order must be the order of commits; the row is locked by the
-- transaction that counts.
CREATE TABLE sequences (
    name  TEXT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);

CREATE TABLE campaigns (
    name        TEXT NOT NULL PRIMARY KEY,
    spec        TEXT NOT NULL,
    source      TEXT NOT NULL,
    repo        TEXT NOT NULL,
    branch      TEXT NOT NULL,
    base_commit TEXT NOT NULL,
    best_commit TEXT NOT NULL,
    image       TEXT NOT NULL,
    baseline    TEXT,
    score       TEXT,
    rates       TEXT NOT NULL,
    settled     TEXT NOT NULL,
    push        INTEGER NOT NULL,
    pushed      TEXT NOT NULL,
    brief       TEXT NOT NULL,
    phase       TEXT NOT NULL,
    stopped     TEXT NOT NULL,
    detail      TEXT NOT NULL,
    cost        TEXT NOT NULL,
    created     BIGINT NOT NULL,
    updated     BIGINT NOT NULL
);

CREATE TABLE problems (
    campaign     TEXT NOT NULL REFERENCES campaigns (name),
    id           TEXT NOT NULL,
    suite        TEXT NOT NULL,
    package      TEXT NOT NULL,
    name         TEXT NOT NULL,
    split        TEXT NOT NULL,
    PRIMARY KEY (campaign, id)
);

CREATE TABLE runs (
    id         BIGINT NOT NULL PRIMARY KEY,
    campaign   TEXT NOT NULL REFERENCES campaigns (name),
    scope      TEXT NOT NULL,
    side       TEXT NOT NULL,
    round      BIGINT NOT NULL,
    tree       TEXT NOT NULL,
    tampered   TEXT NOT NULL,
    build_log  TEXT NOT NULL,
    truncated  INTEGER NOT NULL,
    sandbox    BIGINT NOT NULL,
    UNIQUE (campaign, scope, side, round)
);

CREATE TABLE run_results (
    run        BIGINT NOT NULL REFERENCES runs (id),
    ord        BIGINT NOT NULL,
    problem    TEXT NOT NULL,
    score      DOUBLE PRECISION NOT NULL,
    outcome    TEXT NOT NULL,
    wall       BIGINT NOT NULL,
    tokens     BIGINT NOT NULL,
    timed_out  INTEGER NOT NULL,
    message    TEXT NOT NULL,
    PRIMARY KEY (run, ord)
);

-- That a generation's proposal is complete, also when it has no candidate.
CREATE TABLE proposals (
    campaign   TEXT NOT NULL REFERENCES campaigns (name),
    generation BIGINT NOT NULL,
    candidates BIGINT NOT NULL,
    PRIMARY KEY (campaign, generation)
);

CREATE TABLE attempts (
    campaign      TEXT NOT NULL,
    generation    BIGINT NOT NULL,
    patch_key     TEXT NOT NULL,
    ord           BIGINT NOT NULL,
    parent_tree   TEXT NOT NULL,
    proposer      TEXT NOT NULL,
    hypothesis    TEXT NOT NULL,
    expected_gain DOUBLE PRECISION NOT NULL,
    targets       TEXT NOT NULL,
    patch         TEXT NOT NULL,
    status        TEXT NOT NULL,
    stage         TEXT NOT NULL,
    reason        TEXT NOT NULL,
    score         DOUBLE PRECISION NOT NULL,
    fixed         TEXT NOT NULL,
    broken        TEXT NOT NULL,
    sandbox       BIGINT NOT NULL,
    PRIMARY KEY (campaign, generation, patch_key),
    FOREIGN KEY (campaign, generation) REFERENCES proposals (campaign, generation)
);
CREATE INDEX attempts_tried ON attempts (campaign, parent_tree, status, generation, patch_key);
CREATE INDEX attempts_queue ON attempts (campaign, status, generation, score);
CREATE INDEX attempts_key ON attempts (campaign, patch_key, status, generation);

CREATE TABLE changes (
    id            TEXT NOT NULL PRIMARY KEY,
    kind          TEXT NOT NULL,
    campaign      TEXT NOT NULL,
    generation    BIGINT NOT NULL,
    patch_key     TEXT NOT NULL,
    hypothesis    TEXT NOT NULL,
    state         TEXT NOT NULL,
    parent_commit TEXT NOT NULL,
    commit_hash   TEXT NOT NULL,
    revert_commit TEXT NOT NULL,
    patch         TEXT NOT NULL,
    deadline      BIGINT,
    created       BIGINT NOT NULL,
    updated       BIGINT NOT NULL
);
CREATE INDEX changes_campaign ON changes (campaign, state);
CREATE INDEX changes_state ON changes (state);

CREATE TABLE change_events (
    change_id  TEXT NOT NULL REFERENCES changes (id),
    seq        BIGINT NOT NULL,
    state      TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    why        TEXT NOT NULL,
    at_time    BIGINT NOT NULL,
    PRIMARY KEY (change_id, seq)
);

CREATE TABLE receipts (
    change_id     TEXT NOT NULL PRIMARY KEY REFERENCES changes (id),
    seq           BIGINT NOT NULL, -- from 1 in each campaign, without gaps
    campaign      TEXT NOT NULL,
    generation    BIGINT NOT NULL,
    decision      TEXT NOT NULL,
    reason        TEXT NOT NULL,
    decided_by    TEXT NOT NULL,
    parent_commit TEXT NOT NULL,
    commit_hash   TEXT NOT NULL,
    revert_commit TEXT NOT NULL,
    patch         TEXT NOT NULL,
    hypothesis    TEXT NOT NULL,
    e_value       DOUBLE PRECISION NOT NULL,
    level         DOUBLE PRECISION NOT NULL,
    confirmation  BIGINT NOT NULL,
    rounds        BIGINT NOT NULL,
    claims        TEXT NOT NULL,
    suspects      TEXT NOT NULL,
    parent_score  TEXT NOT NULL,
    score         TEXT NOT NULL,
    fixed         TEXT NOT NULL,
    broken        TEXT NOT NULL,
    cost          TEXT NOT NULL,
    decided_at    BIGINT NOT NULL,
    UNIQUE (campaign, seq)
);
CREATE INDEX receipts_commit ON receipts (commit_hash);
CREATE INDEX receipts_revert ON receipts (revert_commit);

CREATE TABLE generations (
    campaign      TEXT NOT NULL REFERENCES campaigns (name),
    n             BIGINT NOT NULL,
    outcome       TEXT NOT NULL,
    hypothesis    TEXT NOT NULL,
    expected_gain DOUBLE PRECISION NOT NULL,
    realised_gain DOUBLE PRECISION NOT NULL,
    proposer      TEXT NOT NULL,
    change_id     TEXT NOT NULL,
    commit_hash   TEXT NOT NULL,
    revert_commit TEXT NOT NULL,
    parent_commit TEXT NOT NULL,
    parent_score  DOUBLE PRECISION NOT NULL,
    score         DOUBLE PRECISION NOT NULL,
    fixed         TEXT NOT NULL,
    broken        TEXT NOT NULL,
    reason        TEXT NOT NULL,
    e_value       DOUBLE PRECISION NOT NULL,
    level         DOUBLE PRECISION NOT NULL,
    rounds        BIGINT NOT NULL,
    candidates    BIGINT NOT NULL,
    screened      BIGINT NOT NULL,
    cost          TEXT NOT NULL,
    started       BIGINT NOT NULL,
    ended         BIGINT NOT NULL,
    PRIMARY KEY (campaign, n)
);

CREATE TABLE reports (
    campaign TEXT NOT NULL PRIMARY KEY REFERENCES campaigns (name),
    document TEXT NOT NULL
);

CREATE TABLE failures (
    seq      BIGINT NOT NULL PRIMARY KEY,
    source   TEXT NOT NULL,
    id       TEXT NOT NULL,
    agent    TEXT NOT NULL,
    repo     TEXT NOT NULL,
    task     TEXT NOT NULL,
    expected TEXT NOT NULL,
    actual   TEXT NOT NULL,
    severity TEXT NOT NULL,
    context  TEXT NOT NULL,
    at_time  BIGINT NOT NULL,
    stored   BIGINT NOT NULL,
    UNIQUE (source, id)
);
CREATE INDEX failures_repo ON failures (repo, seq);

CREATE TABLE benchmarks (
    id          TEXT NOT NULL PRIMARY KEY,
    name        TEXT NOT NULL,
    suites      TEXT NOT NULL,
    repo        TEXT NOT NULL,
    commit_hash TEXT NOT NULL,
    tree        TEXT NOT NULL,
    started     BIGINT NOT NULL,
    wall        BIGINT NOT NULL,
    runs        TEXT NOT NULL,
    score       TEXT NOT NULL
);
CREATE INDEX benchmarks_name ON benchmarks (name, started);

CREATE TABLE benchmark_results (
    benchmark  TEXT NOT NULL REFERENCES benchmarks (id),
    ord        BIGINT NOT NULL,
    problem    TEXT NOT NULL,
    score      DOUBLE PRECISION NOT NULL,
    outcome    TEXT NOT NULL,
    wall       BIGINT NOT NULL,
    tokens     BIGINT NOT NULL,
    timed_out  INTEGER NOT NULL,
    message    TEXT NOT NULL,
    PRIMARY KEY (benchmark, ord)
);
