"""Write an invoice for each order."""

from faststream.kafka import KafkaBroker, KafkaRouter
from pydantic import BaseModel

router = KafkaRouter()


class Order(BaseModel):
    customer: str
    pieces: int
    price: int


class Invoice(BaseModel):
    customer: str
    total: int


@router.subscriber("orders", group_id="invoices", auto_offset_reset="earliest")
@router.publisher("invoices")
async def write_invoice(order: Order) -> Invoice:
    return Invoice(customer=order.customer, total=order.pieces * order.price)


def connect(bootstrap: str) -> KafkaBroker:
    """Return the service, to be started; its FastStream app takes it."""
    broker = KafkaBroker(bootstrap)
    broker.include_router(router)
    return broker
