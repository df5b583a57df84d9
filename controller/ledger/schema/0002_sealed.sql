-- What is never published is bound too: a digest over all that lies sealed in a stream, and its signatures.
ALTER TABLE head ADD COLUMN sealed TEXT NOT NULL DEFAULT '0000000000000000000000000000000000000000000000000000000000000000';

CREATE TABLE sealed (
    stream    TEXT    NOT NULL,
    sequence  INTEGER NOT NULL,  -- of the ledger.signed beside which it was made
    sha256    TEXT    NOT NULL,
    signature TEXT    NOT NULL,
    PRIMARY KEY (stream, sequence)
) STRICT, WITHOUT ROWID;

-- A file from before: up to this row nothing was bound.
INSERT INTO meta (name, value) SELECT 'sealed_from', max(row) FROM row HAVING max(row) IS NOT NULL;
