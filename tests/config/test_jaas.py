import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.config.jaas import JaasError, Login, login_line, parse_jaas

PACKAGE = "org.apache.kafka.common.security"
PLAIN = f"{PACKAGE}.plain.PlainLoginModule"
SCRAM = f"{PACKAGE}.scram.ScramLoginModule"

words = st.text(string.ascii_letters + string.digits + "._-$", min_size=1)
blanks = st.sampled_from([" ", "\n", "\t ", " // a comment\n", ' /* password="x"; */ '])


def quoted(text: str) -> str:
    inner = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{inner}"'


def test_a_jaas_line_of_each_login_module_is_parsed() -> None:
    assert parse_jaas(f'{PLAIN} required username="u" password="p";') == Login(
        "PlainLoginModule", {"username": "u", "password": "p"}
    )
    assert parse_jaas(f"{SCRAM} REQUIRED tokenauth=true username='x y' ;").options == {
        "tokenauth": "true",
        "username": "x y",
    }
    assert parse_jaas(f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule required;\n") == Login(
        "OAuthBearerLoginModule", {}
    )


@given(st.dictionaries(words, st.text()), blanks)
def test_quoted_options_of_a_jaas_line_are_parsed_exactly(
    options: dict[str, str], blank: str
) -> None:
    pairs = [f"{name}{blank}={blank}{quoted(value)}" for name, value in options.items()]

    entry = parse_jaas(blank.join(["", PLAIN, "required", *pairs, ";", ""]))

    assert entry.options == options


@given(st.text(alphabet=st.sampled_from("ab =\"';\\/*\n") | st.characters()))
def test_a_malformed_jaas_line_never_shows_its_password(rest: str) -> None:
    line = f'{PLAIN} required password="s3cret" {rest}'

    try:
        shown = repr(parse_jaas(line))
    except JaasError as error:
        shown = str(error)

    assert "PlainLoginModule" in shown or "never ends" in shown
    assert "s3cret" not in shown


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "is empty"),
        ("// nothing", "is empty"),
        (f"{PLAIN}", "no control flag"),
        (f"{PLAIN} maybe;", "no control flag"),
        (f"{PLAIN} required", "no semicolon"),
        (f'{PLAIN} required a="b"', "no semicolon"),
        (f"{PLAIN} required a=;", "option 1 of PlainLoginModule has no value"),
        (f"{PLAIN} required a b;", "option 1 of PlainLoginModule is not NAME=VALUE"),
        (f"{PLAIN} required a=b c;", "option 2 of PlainLoginModule is not NAME=VALUE"),
        (f'{PLAIN} required a="b;', "a string that never ends"),
        (f"{PLAIN} required; {PLAIN} required;", "more stands behind"),
        ("com.sun.security.auth.module.Krb5LoginModule required;", "Kerberos.* not supported"),
        ("com.example.PlainLoginModule required;", "no known login module"),
        ("s3cret required;", "no known login module"),
        (f"{PACKAGE}.plain.ScramLoginModule required;", "no known login module"),
    ],
)
def test_a_malformed_jaas_line_is_refused_with_the_reason(line: str, message: str) -> None:
    with pytest.raises(JaasError, match=message) as caught:
        parse_jaas(line)

    assert "s3cret" not in str(caught.value)


def test_escapes_in_a_jaas_line_are_parsed_as_in_java() -> None:
    line = PLAIN + r""" required a="\t\n\"\\\101\7x" ;"""

    assert parse_jaas(line).options == {"a": '\t\n"\\A\x07x'}


@given(st.text(st.characters(exclude_characters="\n")), st.sampled_from(["PLAIN", "SCRAM-SHA-256"]))
def test_the_login_line_of_a_client_is_parsed_to_its_name_and_password(
    text: str, mechanism: str
) -> None:
    login = parse_jaas(login_line(mechanism, text, f"{text}!"))

    assert login.options == {"username": text, "password": f"{text}!"}
    assert login.module == ("PlainLoginModule" if mechanism == "PLAIN" else "ScramLoginModule")


def test_an_error_names_a_missing_option_of_a_login_module() -> None:
    login = parse_jaas(f'{PLAIN} required username="u";')

    assert login.need("username") == "u"
    with pytest.raises(JaasError, match="PlainLoginModule needs password="):
        login.need("password")
