"""Why a lower bound holds, and how a stranger checks that."""
