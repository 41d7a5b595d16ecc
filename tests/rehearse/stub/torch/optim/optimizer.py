HOOKS = []


def register_optimizer_step_post_hook(hook):
    HOOKS.append(hook)


class Optimizer:
    def __init__(self, parameters):
        self.param_groups, self.state = [{"params": parameters}], {}

    def step(self):
        for hook in HOOKS:
            hook(self, (), {})
