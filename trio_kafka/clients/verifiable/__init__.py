"""Verifiable clients: a producer and a consumer that say on standard output what happens to them.

They speak the protocol of Kafka's system tests (VerifiableProducer and VerifiableConsumer of Apache
Kafka 4.4.0): the same options, and one JSON object a line. A test drives both kinds alike.

    python -m trio_kafka.clients.verifiable.producer --bootstrap-server localhost:9092 --topic t
"""
