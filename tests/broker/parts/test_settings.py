"""Settings in force as a part of the node, and what follows them."""

from pathlib import Path

from tests.broker.kit import APIS, config_of
from trio_kafka.broker import Broker
from trio_kafka.controller.configs import ConfigChange, Operation
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld


async def test_thread_limit_of_each_data_directory_follows_background_threads(
    tmp_path: Path,
) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    own = {"background.threads": "3", "metadata.log.dir": str(tmp_path / "metadata")}
    config = config_of(own, log_dirs=",".join(map(str, paths)))

    async with Broker(
        config, RealWorld(SkippingClock()), format_if_empty=True, apis=APIS
    ) as broker:

        def tokens() -> list[float]:
            roots = [
                directory.root for directory in (*broker.logs.directories, broker.storage.metadata)
            ]
            return [root._volume.limiter.total_tokens for root in roots]  # type: ignore[attr-defined]

        assert tokens() == [3, 3, 3]
        change = ConfigChange("background.threads", Operation.SET, "5")
        results = await broker.controller.alter_configs({(ConfigResourceType.BROKER, ""): [change]})
        assert set(results.values()) == {None}
        assert broker.logs.threads == 5
        assert tokens() == [5, 5, 5]
