-- The ledger, schema 3. Times are seconds since the epoch; fingerprints are 16 raw bytes, site half first, so that a site is a range.
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;

-- Every count is kept on its own and never as a difference of others; `verify --deep` compares them with an enumeration.
CREATE TABLE counter (name TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
-- Counts by reason, in callers' words for the skipped: never read by the flow.
CREATE TABLE tally (name TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;

-- The seen set is fingerprint -> entry: the id in `text` (done, unless in `pending` or `held`), or 0 done without text, -1 known
-- (imported, never accepted), -2 dead without text, from -16 down done with its text in a slot of `packed`. It lies in sorted runs beside the ledger, named here, newest last; what is in none
-- yet stands in the journal, `marks`, as records of 24 bytes with their checksum. Only what is named here counts.
CREATE TABLE marks (id INTEGER PRIMARY KEY, checksum BLOB NOT NULL, records BLOB NOT NULL);
CREATE TABLE run (seq INTEGER PRIMARY KEY, name TEXT NOT NULL, keys INTEGER NOT NULL, size INTEGER NOT NULL);

-- URLs as found, in order of arrival; hardly ever updated. priority: as first queued. Those of done URLs stay only where text is kept.
CREATE TABLE text (
    id INTEGER PRIMARY KEY,
    fp BLOB NOT NULL,
    url BLOB NOT NULL,
    grp INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    depth INTEGER NOT NULL
);
-- What only some URLs have. When they are done, via and meta go, and the variant stays as long as the text does.
CREATE TABLE extra (id INTEGER PRIMARY KEY, via TEXT, meta TEXT, variant BLOB);

-- Rows of `text` that became done, as rows of ids of 8 bytes, oldest first: hints for whoever packs. One that is done has a hint; one that
-- has a hint may have returned to the queue meanwhile, or be gone.
CREATE TABLE finished (id INTEGER PRIMARY KEY, ids BLOB NOT NULL);
-- Texts of done URLs, some hundred compressed as one: see framing.py. A slot is never used again.
CREATE TABLE packed (block INTEGER PRIMARY KEY, checksum BLOB NOT NULL, data BLOB NOT NULL);
-- Beside it, so that it can be changed without writing the block: how many of its slots are in use, which ones no longer are (a bit each),
-- and how many became so since the block was written.
CREATE TABLE slots (block INTEGER PRIMARY KEY, live INTEGER NOT NULL, gone BLOB NOT NULL, freed INTEGER NOT NULL);
CREATE INDEX slots_sparse ON slots (block) WHERE freed >= live;

-- id: the site half as a signed integer. lim, accepted: only where a limit is set.
CREATE TABLE site (id INTEGER PRIMARY KEY, name TEXT NOT NULL, lim INTEGER, accepted INTEGER);
CREATE INDEX site_limited ON site (id) WHERE lim IS NOT NULL;

-- Pending URLs in the order in which they are given: a group's are neighbours, so that a lease of many touches few pages.
-- class: model.Klass. np: the priority, negated. seq: order of arrival, from the same numbers as id. since: when it began to wait.
CREATE TABLE pending (
    grp INTEGER NOT NULL,
    class INTEGER NOT NULL,
    np INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    id INTEGER NOT NULL,
    since REAL NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    excused INTEGER NOT NULL DEFAULT 0,
    failed_at REAL,
    PRIMARY KEY (grp, class, np, seq)
) WITHOUT ROWID;
-- Where a pending URL stands, if not at (its group, new, its first priority, its id).
CREATE TABLE moved (id INTEGER PRIMARY KEY, class INTEGER NOT NULL, np INTEGER NOT NULL, seq INTEGER NOT NULL);

-- Leased, delayed and dead URLs (state: model.State), few beside the pending ones. again: asked for again while leased; when (0: at once).
CREATE TABLE held (
    id INTEGER PRIMARY KEY,
    state INTEGER NOT NULL,
    grp INTEGER NOT NULL,
    class INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    since REAL NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    excused INTEGER NOT NULL DEFAULT 0,
    failed_at REAL,
    counter INTEGER,
    chance INTEGER,
    deadline REAL,
    due REAL,
    again REAL,
    reason TEXT,
    settled REAL
);
CREATE INDEX held_leased ON held (deadline) WHERE state = 1;
CREATE INDEX held_due ON held (due, seq) WHERE state = 2;
CREATE INDEX held_dead ON held (settled) WHERE state = 4;

-- place: frontier.turn.Place. top0…top2: highest pending priority of each class; top: of all. since: ticket drawn when it began to wait.
CREATE TABLE grp (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    delay REAL,
    concurrency INTEGER,
    paused INTEGER NOT NULL DEFAULT 0,
    next_turn REAL NOT NULL DEFAULT 0,
    leased INTEGER NOT NULL DEFAULT 0,
    top0 INTEGER,
    top1 INTEGER,
    top2 INTEGER,
    top INTEGER,
    since INTEGER NOT NULL DEFAULT 0,
    served INTEGER NOT NULL DEFAULT 0,
    place INTEGER NOT NULL DEFAULT 0,
    wake REAL,
    version INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    failed_url BLOB NOT NULL DEFAULT x'',
    several INTEGER NOT NULL DEFAULT 0,
    blocks INTEGER NOT NULL DEFAULT 0,
    blocked_until REAL NOT NULL DEFAULT 0,
    ok_at REAL NOT NULL DEFAULT 0
);
CREATE INDEX grp_ready ON grp (top DESC, since) WHERE place = 1;
CREATE INDEX grp_longest ON grp (since) WHERE place = 1;
CREATE INDEX grp_held ON grp (since) WHERE place = 3;
CREATE INDEX grp_wake ON grp (wake) WHERE place = 2;

-- Lines about fetched pages (canon/witnesses.py), oldest first; made when the first is written where a store has been made without.
CREATE TABLE witness (id INTEGER PRIMARY KEY, lines BLOB NOT NULL);

CREATE TABLE blob (name TEXT, key TEXT, expires REAL NOT NULL, value BLOB NOT NULL, PRIMARY KEY (name, key));
CREATE INDEX blob_expires ON blob (expires);
CREATE TABLE locks (name TEXT PRIMARY KEY, owner TEXT NOT NULL, token INTEGER NOT NULL, expires REAL NOT NULL) WITHOUT ROWID;

-- Imported levels: digests of what other programs have seen. They lie in sorted files beside the runs, named here, newest last.
CREATE TABLE level (name TEXT PRIMARY KEY, kind TEXT NOT NULL, about TEXT NOT NULL, keys INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE level_run (seq INTEGER PRIMARY KEY, level TEXT NOT NULL, name TEXT NOT NULL, keys INTEGER NOT NULL, size INTEGER NOT NULL);
