-- The ledger, schema 1. Times are seconds since the epoch; fingerprints are 16 raw bytes, site half first, so that a site is a range.
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;

-- Every count is kept on its own and never as a difference of others; `verify --deep` compares them with an enumeration.
CREATE TABLE counter (name TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;

-- The seen set. entry: id in `text` (and in `queue` unless done), or 0 done without text, -1 known (imported, never accepted),
-- -2 dead without text.
CREATE TABLE seen (fp BLOB PRIMARY KEY, entry INTEGER NOT NULL) WITHOUT ROWID;

-- URLs as found, appended once and never updated. Those of done URLs stay only where text is kept.
CREATE TABLE text (id INTEGER PRIMARY KEY, fp BLOB NOT NULL, url BLOB NOT NULL);

-- id: the site half as a signed integer. lim, accepted: only where a limit is set.
CREATE TABLE site (id INTEGER PRIMARY KEY, name TEXT NOT NULL, lim INTEGER, accepted INTEGER);
CREATE INDEX site_limited ON site (id) WHERE lim IS NOT NULL;

-- What is not done: small rows that come and go. seq: order of arrival (drawn from the same numbers as id).
-- state, class: model.State, model.Klass. counter, chance, deadline: of the lease, if leased; their first values are as wide as the
-- real ones, so that a lease changes a row in place and splits no page. again: asked for again while leased; when (0: at once).
CREATE TABLE queue (
    id INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    grp INTEGER NOT NULL,
    state INTEGER NOT NULL,
    class INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    added REAL NOT NULL,
    due REAL,
    attempt INTEGER NOT NULL DEFAULT 0,
    excused INTEGER NOT NULL DEFAULT 0,
    again REAL,
    depth INTEGER NOT NULL,
    counter INTEGER NOT NULL DEFAULT 4611686018427387904,
    chance INTEGER NOT NULL DEFAULT 4611686018427387904,
    deadline REAL NOT NULL DEFAULT 0.5,
    via TEXT,
    meta TEXT,
    variant BLOB,
    failed_at REAL,
    reason TEXT,
    settled REAL
);
CREATE INDEX queue_pending ON queue (grp, class, priority DESC, seq) WHERE state = 0;
CREATE INDEX queue_leased ON queue (deadline) WHERE state = 1;
CREATE INDEX queue_due ON queue (due) WHERE state = 2;
CREATE INDEX queue_dead ON queue (settled) WHERE state = 4;

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

CREATE TABLE blob (name TEXT, key TEXT, value BLOB NOT NULL, expires REAL NOT NULL, PRIMARY KEY (name, key)) WITHOUT ROWID;
CREATE TABLE locks (name TEXT PRIMARY KEY, owner TEXT NOT NULL, token INTEGER NOT NULL, expires REAL NOT NULL) WITHOUT ROWID;
