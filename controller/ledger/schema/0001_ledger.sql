-- What the file is: ledger (UUID), site, table, test, and the number of the last connection to a broker.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One published event a row. The body is the exact bytes on the wire; secret is what must never be published.
CREATE TABLE row (
    row      INTEGER PRIMARY KEY AUTOINCREMENT,
    stream   TEXT    NOT NULL,
    sequence INTEGER NOT NULL,
    type     TEXT    NOT NULL,
    hand     TEXT,
    body     BLOB    NOT NULL,
    key      TEXT,            -- the hand_key that secret lies under
    secret   BLOB,
    acked    INTEGER NOT NULL DEFAULT 0,
    UNIQUE (stream, sequence)
) STRICT;

CREATE INDEX row_unacked ON row (row) WHERE acked = 0;
CREATE INDEX row_opened  ON row (row) WHERE type = 'table.opened';
CREATE INDEX row_signed  ON row (stream, sequence) WHERE type = 'ledger.signed';
CREATE INDEX row_hand    ON row (hand, row) WHERE hand IS NOT NULL;

CREATE TRIGGER row_is_frozen
BEFORE UPDATE OF row, stream, sequence, type, hand, body, key, secret ON row
BEGIN
    SELECT RAISE(ABORT, 'a row of the ledger is never changed');
END;

-- The last event of each stream: written with it, so that a lost or changed last row is seen.
CREATE TABLE head (
    stream   TEXT PRIMARY KEY,
    sequence INTEGER NOT NULL,
    sha256   TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- The key of a hand's secrets: wrapped for a restart until the hand is closed, sealed for the auditor for good.
CREATE TABLE hand_key (
    hand    TEXT PRIMARY KEY,
    restart BLOB,
    sealed  BLOB
) STRICT, WITHOUT ROWID;

-- What is published instead of a row that the broker refused; kept so that a repeat has the same bytes.
CREATE TABLE withheld (
    row  INTEGER PRIMARY KEY REFERENCES row (row),
    body BLOB NOT NULL
) STRICT;
