-- The state between two hands, so that a restart in a long session need not read all of it again. At most one.
CREATE TABLE image (
    row   INTEGER PRIMARY KEY,  -- the last row that it holds
    form  TEXT NOT NULL,        -- which program can read it
    heads TEXT NOT NULL,        -- the ends of the streams at that row
    body  BLOB NOT NULL,
    mac   BLOB NOT NULL         -- over all of it, under the device's key
) STRICT;
