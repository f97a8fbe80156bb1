"""The metadata of the cluster as parts of the node."""

from tests.broker.kit import APIS, config_of
from trio_kafka.broker import Broker
from trio_kafka.metadata.publisher import Loader


async def test_loaded_image_has_the_cluster_id_of_the_directory(world, autojump_clock) -> None:
    async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
        cluster_id = broker.storage.identity.cluster_id

        assert broker.metadata.image.cluster_id == cluster_id
        assert broker.parts.cluster_id == cluster_id
        assert broker[Loader].image is broker.metadata.image
        assert broker.tasks.runs("metadata")
