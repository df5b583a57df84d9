-- Who was locked out stays so over a restart: the attempts are found without reading the whole file.
CREATE INDEX row_login ON row (row) WHERE type = 'staff.login';
