"""Why a network is as it is: explanations and summary."""
