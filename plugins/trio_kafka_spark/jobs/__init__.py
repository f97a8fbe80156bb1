"""Jobs over topics and log directories: functions from DataFrame to DataFrame.

Each module is one job and documents the columns that it takes and makes. Inputs are rows of
`format("trio-kafka")` or `format("trio-kafka-log")`, so a job runs on a broker, on its directories
or on a backup. `trio-kafka spark JOB` calls the same functions. Sizes are bytes, times UTC.
"""
