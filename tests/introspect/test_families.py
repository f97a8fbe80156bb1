from trio_kafka.introspect.families import Family, Kind


def test_samples_have_full_names_and_labels() -> None:
    gauge = Family(name="depth", kind=Kind.GAUGE, help="How deep.")
    gauge.add(1)
    gauge.add(2.5, (("at", "x"),))
    times = Family(name="time", kind=Kind.SUMMARY, help="How long.")
    times.add(3, (), "_count")

    assert list(gauge.samples()) == [("depth", (), 1), ("depth", (("at", "x"),), 2.5)]
    assert list(times.samples()) == [("time_count", (), 3)]
    assert len(gauge) == 2


def test_families_can_share_labels() -> None:
    family = Family(name="one", kind=Kind.GAUGE, help="")
    other = Family(name="other", kind=Kind.COUNTER, help="", labels=family.labels)
    family.add(1, (("at", "x"),))
    other.values.append(2)

    assert list(other.samples()) == [("other", (("at", "x"),), 2)]
