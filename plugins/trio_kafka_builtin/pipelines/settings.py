"""Settings of the plugin `pipelines`."""

from attrs import frozen

from trio_kafka.plugin import Outside, integer, string


@frozen(kw_only=True)
class PipelineSettings:
    """Settings `plugin.pipelines.<name>`."""

    directory: str | None = string(
        None, "Directory of definitions, one NAME.toml for each pipeline.", names=Outside.DIRECTORY
    )
    path: str = string("/pipelines", "Path on the HTTP plane to which children post progress.")
    log_directory: str | None = string(
        None, "Directory of log files; not set: `logs` in `directory`.", names=Outside.DIRECTORY
    )
    log_lines: int = integer(200, "Last lines of each pipeline kept in memory.", low=1, high=1000)
    log_bytes: int = integer(
        4194304, "Size of a log file; a full one is kept as NAME.log.1.", low=4096
    )
    max_body_bytes: int = integer(
        131072, "Largest body of a post, which is parsed in one step.", low=1
    )
