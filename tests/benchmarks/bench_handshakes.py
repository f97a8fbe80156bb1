"""Latency of a connected client while others shake hands.

    python -m tests.benchmarks.bench_handshakes [p256|rsa] [rate]

A broker process with TLS; one client asks ApiVersions again and again. Then a child process shakes
hands so many times a second (100), in bursts of a tenth of that. Prints percentiles of both times,
and the broker's CPU.
"""

import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.benchmarks import protocol
from tests.benchmarks.connection import Connection
from tests.benchmarks.server import Server
from tests.certificates import authority, server
from trio_kafka.testing.ports import LOOPBACK, unused_port
from trio_kafka.testing.processes import broker_process

SECONDS: Final = 6.0
BURSTS: Final = 10  # a second


def rsa_pem() -> str:
    """Key and certificate of RSA-2048, issued by the tests' authority."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    template = server().certificate
    builder = x509.CertificateBuilder(
        subject_name=template.subject,
        issuer_name=template.issuer,
        public_key=key.public_key(),
        serial_number=1,
        not_valid_before=template.not_valid_before_utc,
        not_valid_after=template.not_valid_after_utc,
        extensions=[
            template.extensions.get_extension_for_class(x509.SubjectAlternativeName),  # type: ignore[list-item]
        ],
    )
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    certificate = builder.sign(authority().key, hashes.SHA256())
    return (pem + certificate.public_bytes(Encoding.PEM)).decode()


def ask(connection: Connection, seconds: float) -> list[float]:
    """Times of requests, one after the other, in ms, sorted."""
    request, times = protocol.frame(protocol.API_VERSIONS, 0), []
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        connection.call(request)
        times.append((time.perf_counter() - began) * 1000)
        time.sleep(0.002)
    return sorted(times)


def shake(port: int, pem: str, rate: int, seconds: float) -> None:
    """Shake hands in bursts, as the child process."""
    context = ssl.create_default_context(cafile=pem)
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        began = time.monotonic()
        for _ in range(rate // BURSTS):
            plain = socket.create_connection((LOOPBACK, port), 5)
            context.wrap_socket(plain, server_hostname=LOOPBACK).close()
            count += 1
        time.sleep(max(0.0, 1 / BURSTS - (time.monotonic() - began)))
    print(f"{count / seconds:.0f} handshakes a second")


def show(title: str, times: list[float], cpu_s: float, seconds: float) -> None:
    p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
    share = 100 * cpu_s / seconds
    print(
        f"{title}: p50 {p50:.2f} ms, p99 {p99:.2f} ms, most {times[-1]:.2f} ms; CPU {share:.0f} %"
    )


def main(kind: str = "p256", rate: str = "100") -> None:
    """Measure without and with handshakes."""
    with TemporaryDirectory() as directory:
        store, ca = Path(directory) / "broker.pem", Path(directory) / "ca.pem"
        store.write_text(rsa_pem() if kind == "rsa" else server().key_pem() + server().pem)
        ca.write_text(authority().pem)
        plain, secured = unused_port(), unused_port()
        settings = [
            f"listeners=PLAINTEXT://{LOOPBACK}:{plain},SSL://{LOOPBACK}:{secured}",
            "ssl.keystore.type=PEM",
            f"ssl.keystore.location={store}",
        ]
        context = ssl.create_default_context(cafile=str(ca))
        with broker_process(Path(directory), *settings, port=plain) as process:
            broker = Server(process.process.pid)
            connection = Connection((LOOPBACK, secured), tls=context)
            ask(connection, 1.0)
            before = broker.cpu_s()
            show("alone", ask(connection, SECONDS), broker.cpu_s() - before, SECONDS)
            words = ["shake", str(secured), str(ca), rate, str(SECONDS + 1)]
            command = [sys.executable, "-m", "tests.benchmarks.bench_handshakes", *words]
            with subprocess.Popen(command):
                time.sleep(1.0)
                before = broker.cpu_s()
                show(f"beside {kind}", ask(connection, SECONDS), broker.cpu_s() - before, SECONDS)
            connection.socket.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["shake"]:
        shake(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))
    else:
        main(*sys.argv[1:])
