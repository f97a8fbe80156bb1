"""Rules for names of certificates; examples of KIP-371 and of Kafka's documentation."""

import pytest

from trio_kafka.security.tls.principal_rules import (
    NoMatchingRuleError,
    PrincipalRules,
)

RULES = (
    r"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,"
    r" RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,"
    r" RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U,"
    " DEFAULT"
)


@pytest.mark.parametrize(
    ("rules", "name", "principal"),
    [
        (RULES, "CN=serviceuser,OU=ServiceUsers,O=Unknown,C=Unknown", "serviceuser"),
        (RULES, "CN=adminUser,OU=Admin,O=Unknown,L=x,ST=y,C=z", "adminuser@admin"),
        (RULES, "O=x,cn=kafka,C=z", "KAFKA"),
        (RULES, "OU=JavaSoft,O=Sun", "OU=JavaSoft,O=Sun"),
        ("DEFAULT", "CN=a", "CN=a"),
        ("RULE:^CN=(\\w+)\\/(.*)$/$2-$1/", "CN=a/b", "b-a"),
        ("RULE:CN=(.*)/$3 $1/", "CN=a", "$3 a"),
        ("RULE:CN=(?P<user>.*)/${user}!/", "CN=a", "a!"),
        ("RULE:CN=(.*)/\\$1/", "CN=a", "$1"),
        (",, DEFAULT ,", "CN=a", "CN=a"),
    ],
)
def test_the_first_rule_that_matches_the_whole_name_decides(
    rules: str, name: str, principal: str
) -> None:
    assert PrincipalRules(rules).name_of(name) == principal


def test_a_name_without_a_rule_has_no_principal() -> None:
    with pytest.raises(NoMatchingRuleError, match="no rule applies to 'CN=a'"):
        PrincipalRules("RULE:^OU=(.*)$/$1/").name_of("CN=a")


@pytest.mark.parametrize(
    "rules",
    ["DEFAULTS", "RULE:", "RULE:a/b", "RULE:a/b/X", "rule:a/b/", "RULE:(/b/", "RULE:a/b/Lx"],
)
def test_a_rule_that_is_none_is_refused(rules: str) -> None:
    with pytest.raises(ValueError):
        PrincipalRules(rules)
