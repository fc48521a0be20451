"""How a stand-alone script loads an engine's file without the engine; kvproof's own text."""

from __future__ import annotations

STUBS = '''
class Stub:
    """Answers every question with no; what the writer reads from its platform is in VALUES."""

    def __init__(self, path):
        self._path = path

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return value_at(self._path + "." + name)

    def __call__(self, *args, **kwargs):
        if len(args) == 1 and not kwargs and callable(args[0]):
            return args[0]
        return value_at(self._path + "()")

    def __mro_entries__(self, bases):
        return ()

    def __bool__(self):
        return False

    def __iter__(self):
        return iter(())

    def __getitem__(self, key):
        return self


def value_at(path):
    if path not in VALUES:
        VALUES[path] = Stub(path)
    return VALUES[path]


class StubModule(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return value_at(self.__name__ + "." + name)


class StubFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ROOTS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StubModule(spec.name)

    def exec_module(self, module):
        module.__path__ = []


def made(switch):
    """Return what stands at a path: ("value" | "call" | "object" | "call-object" | ..., value)."""
    form, value = switch
    if form.endswith("dtype"):
        value = getattr(torch, value)
    if form.endswith("object"):
        value = types.SimpleNamespace(**value)
    return (lambda *args, **kwargs: value) if form.startswith("call") else value


def patched():
    """Put the values of modules that are not stubbed in place."""
    for path, switch in SWITCHES.items():
        if path.partition(".")[0] in ROOTS:
            VALUES[path] = made(switch)
            continue
        owner, parts = None, path.split(".")
        for length in range(1, len(parts)):
            name = ".".join(parts[:length])
            try:
                owner = importlib.import_module(name)
            except ImportError:
                owner = getattr(owner, parts[length - 1])
        setattr(owner, parts[-1], made(switch))
'''

NO_STUBS = '''
def patched():
    """Nothing is stubbed."""
'''
