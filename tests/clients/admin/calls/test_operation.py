"""Plans as methods of both clients."""

import inspect

from trio_kafka.clients.admin.calls.deferred import DeferredPlan
from trio_kafka.clients.admin.calls.operation import Operation
from trio_kafka.clients.admin.operations import AdminOperations

NAMES = [name for name, value in vars(AdminOperations).items() if isinstance(value, Operation)]


class Runner(AdminOperations):
    def run(self, plan):
        plan.close()
        return plan.__name__


def test_operation_gives_its_plan_to_the_client_and_has_the_documentation_of_the_plan():
    assert Runner().list_topics(include_internal=True) == "perform_single"
    assert inspect.getdoc(AdminOperations.list_topics).startswith("List the topics")


def test_each_operation_is_a_function_of_the_same_name():
    assert len(NAMES) > 30
    for name in NAMES:
        function = getattr(AdminOperations, name)
        assert function.__name__ == name
        assert function.__doc__


def test_module_of_a_plan_is_imported_when_it_is_first_called():
    plan = DeferredPlan("trio_kafka.clients.admin.cluster", "describe_cluster")

    assert plan.resolve() is AdminOperations.describe_cluster
    plan().close()
