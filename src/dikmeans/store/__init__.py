"""Files of the package's own: models as safetensors with a JSON header, never pickle."""

from dikmeans.store.model_file import ModelFileError, load_model, save_model

__all__ = ["ModelFileError", "load_model", "save_model"]
