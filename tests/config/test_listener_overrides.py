import attrs

from trio_kafka.config.listener_overrides import has_override, override_name, value_for
from trio_kafka.config.load import broker_config, overlaid

NAME = "num.network.threads"


def test_the_own_value_of_a_listener_overrides_the_general_value():
    config = broker_config({NAME: "5", "listener.name.in.num.network.threads": "2"})

    assert (value_for(config, "IN", NAME), has_override(config, "IN", NAME)) == (2, True)
    assert (value_for(config, "OUT", NAME), has_override(config, "OUT", NAME)) == (5, False)


def test_an_override_prefix_must_be_in_lower_case():
    assert override_name("In-1", NAME) == "listener.name.in-1.num.network.threads"
    assert value_for(broker_config({"listener.name.IN.num.network.threads": "2"}), "IN", NAME) == 3


def test_a_dynamic_listener_value_overrides_the_value_from_the_file():
    config = broker_config({"listener.name.in.num.network.threads": "2"})

    changed = overlaid(config, {"listener.name.in.num.network.threads": "4", NAME: "9"})

    assert (value_for(changed, "IN", NAME), value_for(changed, "OUT", NAME)) == (4, 9)
    assert has_override(
        overlaid(broker_config(), {"listener.name.in.num.network.threads": "4"}), "IN", NAME
    )
    assert attrs.fields_dict(type(config))["changed"].eq is False
