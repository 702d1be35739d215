-- From version 3 to 4: verdicts are counted without reading the tests.
CREATE INDEX IF NOT EXISTS test_by_verdict ON test (run_id, verdict);
