def save_mjcf(system, path):
    raise NotImplementedError
