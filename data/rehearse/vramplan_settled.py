"""Where programs let what a card computed decide what they do next. Nothing is computed here, so those answers are settled,
each as most runs have it, and the report says which.

Environment: VRAMPLAN_PADDED=1, attention masks mask something; VRAMPLAN_ROUTING, uniform (tokens are spread evenly over the experts) or
skewed (all go to the same few); VRAMPLAN_WORLD=N, the program is rank 0 of N.
"""
import functools
import inspect
import os
import pickle

ASSUMED, ASKED = set(), []  # said in the report; what is being settled right now
WORLD = int(os.environ.get("VRAMPLAN_WORLD", "1"))
ROUTING = os.environ.get("VRAMPLAN_ROUTING", "uniform")

ASSUMPTIONS = {"find_packed_sequence_indices": "sequences are not packed (transformers reads that from the card)",
               "fast_all": "attention masks mask nothing (transformers reads that from the card; --padded if they do)",
               "uniform": "routers spread tokens evenly over the experts (read from the card; --routing skewed: all to the same few)",
               "skewed": "routers send all tokens to the same few experts (--routing uniform: evenly)"}


# Attention masks of transformers -------------------------------------------------------------------------------------
def settle_masks(masking):
    def replace(name, answer):
        original = getattr(masking, name, None)
        if original is None:
            return
        def asked(*args, **kwargs):  # the original allocates what it allocates
            ASKED.append(name)
            original(*args, **kwargs)
            ASKED.pop()
            ASSUMED.add(ASSUMPTIONS[name])
            return answer
        setattr(masking, name, asked)

    replace("find_packed_sequence_indices", None)
    if os.environ.get("VRAMPLAN_PADDED", "0") == "0":
        replace("fast_all", True)


# Experts, where a program loops over those that got tokens -------------------------------------------------------------
def settle_experts(moe):
    """transformers' own loop over experts (its other implementations read nothing): the forward of a class under the decorator."""
    import torch
    from torch.overrides import TorchFunctionMode

    class Routing(TorchFunctionMode):
        """`nonzero` finds the experts that are hit, `torch.where` the tokens of the next one."""

        def __init__(self, experts, chosen):  # chosen: [tokens, experts of each]
            super().__init__()
            self.experts, self.pairs = experts, chosen.numel()
            hit = min(chosen.shape[-1] if ROUTING == "skewed" else self.pairs, experts)
            each, rest = divmod(self.pairs, max(hit, 1))
            self.shares = [each + (i < rest) for i in range(hit)]
            self.left = []

        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            if len(args) == 1 and not kwargs and isinstance(args[0], torch.Tensor) and args[0].is_cuda:
                if function is torch.Tensor.nonzero and args[0].dim() == 1 and args[0].numel() in (self.experts, self.experts + 1):
                    ASSUMED.add(ASSUMPTIONS[ROUTING])
                    function(*args)  # for what it allocates
                    self.left = list(self.shares)
                    return torch.empty((1, len(self.left)), dtype=torch.int64, device=args[0].device).t()
                if function is torch.where and self.left:
                    function(*args)
                    return torch.empty((args[0].dim(), self.left.pop(0)), dtype=torch.int64, device=args[0].device).unbind(0)
            return function(*args, **kwargs)

    def routed(experts_class):
        forward = experts_class.forward

        @functools.wraps(forward)
        def looped(self, hidden_states, top_k_index, *args, **kwargs):
            if torch.compiler.is_compiling() or not hidden_states.is_cuda or not isinstance(getattr(self, "num_experts", None), int):
                return forward(self, hidden_states, top_k_index, *args, **kwargs)
            ASKED.append("experts")
            try:
                with Routing(self.num_experts, top_k_index):
                    return forward(self, hidden_states, top_k_index, *args, **kwargs)
            finally:
                ASKED.pop()

        experts_class.forward = looped
        return experts_class

    original = getattr(moe, "use_experts_implementation", None)
    if original is None:
        return

    @functools.wraps(original)
    def decorator(experts_class=None, **kwargs):
        if experts_class is not None:
            return original(routed(experts_class), **kwargs)
        made = original(**kwargs)
        return lambda decorated: made(routed(decorated))

    moe.use_experts_implementation = decorator


# Objects that ranks send one another -----------------------------------------------------------------------------------
def settle_objects(c10d):
    """Their sizes are computed on the card. They go through the store by which the ranks have found one another; rank 0 of
    a world that is not there takes the others to have sent what it sent itself."""
    turns = {}

    def exchange(group, mine, senders):
        """What those of the group sent, in their order; `mine` is what this rank sends, if it is one of them."""
        group = group or c10d._get_default_group()
        turn = turns[group] = turns.get(group, 0) + 1
        key = f"vramplan/{c10d._world.pg_names[group]}/{turn}"
        rank, store = c10d.get_rank(group), c10d._get_default_store()
        if rank in senders:
            store.set(f"{key}/{rank}", pickle.dumps(mine))
        if WORLD > 1:
            return [mine for _ in senders]
        return [pickle.loads(store.get(f"{key}/{sender}")) for sender in senders]

    def in_group(group, rank, group_rank):
        if group_rank is not None:
            return group_rank
        return c10d.get_group_rank(group, rank) if group is not None and rank is not None else rank or 0

    def replace(name, ours):
        original = getattr(c10d, name)
        parameters = inspect.signature(original)

        @functools.wraps(original)
        def sent(*args, **kwargs):
            asked = parameters.bind(*args, **kwargs).arguments
            group = asked.get("group")
            if c10d.get_rank(group) < 0 or c10d.get_backend(group) != "nccl":
                return original(*args, **kwargs)
            return ours(**{"group": None, **asked})

        setattr(c10d, name, sent)

    def all_gather_object(object_list, obj, group=None, **_):
        object_list[:] = exchange(group, obj, range(c10d.get_world_size(group)))

    def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None, **_):
        found = exchange(group, obj, range(c10d.get_world_size(group)))
        if c10d.get_rank(group) == in_group(group, dst, group_dst):
            object_gather_list[:] = found

    def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None, **_):
        object_list[:] = exchange(group, list(object_list), [in_group(group, src, group_src)])[0]

    def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None, **_):
        found = exchange(group, scatter_object_input_list, [in_group(group, src, group_src)])[0]
        scatter_object_output_list[0] = found[c10d.get_rank(group)] if found else None

    for ours in (all_gather_object, gather_object, broadcast_object_list, scatter_object_list):
        replace(ours.__name__, ours)


def stand_alone(c10d):
    """Rank 0 of a world of which there is no other process: nobody is waited for, and collectives succeed at once."""
    from torch._C._distributed_c10d import HashStore
    original = c10d.init_process_group

    def alone(*args, **kwargs):
        return original("nccl", rank=0, world_size=WORLD, store=HashStore())

    c10d.init_process_group = alone


def settle_ranks(c10d):
    settle_objects(c10d)
    if WORLD > 1:
        stand_alone(c10d)


MODULES = {"transformers.masking_utils": settle_masks, "transformers.integrations.moe": settle_experts,
           "torch.distributed.distributed_c10d": settle_ranks}
