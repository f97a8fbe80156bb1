"""UpdateFeatures (key 57): change the levels of cluster features, all of them or none.

Waits until the levels are durable and this broker has applied them, at most request.timeout.ms. The
timeout of the request is ignored, as in Kafka. So is `allow_downgrade` of version 0: from version 1
on a client says how a feature may go down. A failure is told once for all features, success for
each feature up to version 1. Source: KIP-584, KIP-778, KIP-1022.

Needs ALTER on the cluster.
"""

from typing import Final

import trio

from trio_kafka.controller.controller import Controller
from trio_kafka.controller.features import FeatureChange, Upgrade
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.declared_waits import CONTROLLER, waits_for
from trio_kafka.protocol.messages.k57_update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.security.operations import Operation

MOST_UPDATES: Final = 1000  # of one request; Kafka has fewer than ten features


@api(UpdateFeaturesRequest)
async def update_features(
    request: UpdateFeaturesRequest, context: Context
) -> UpdateFeaturesResponse:
    context.authorize(Operation.ALTER, cluster=True)
    if (count := len(request.feature_updates)) > MOST_UPDATES:
        reason = f"{count} features: expected at most {MOST_UPDATES}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, reason)
    await context.parked(_update, request, context)
    return UpdateFeaturesResponse(
        error_message=None,
        results=[
            UpdatableFeatureResult(feature=update.feature, error_message=None)
            for update in request.feature_updates
        ],
    )


@waits_for("change", CONTROLLER, "the controller to change feature levels")
async def _update(request: UpdateFeaturesRequest, context: Context) -> None:
    await context[Controller].update_features(
        [
            FeatureChange(update.feature, update.max_version_level, Upgrade.of(update.upgrade_type))
            for update in request.feature_updates
        ],
        deadline=trio.current_time() + context.config.request_timeout_ms / 1000,
        validate_only=request.validate_only,
    )
