"""Names of the package of the admin client."""

from trio_kafka.clients import admin


def test_each_name_is_one_of_its_modules():
    assert admin.NewTopic("a").name == "a"
    for name in admin.__all__:
        assert getattr(admin, name) is not None
