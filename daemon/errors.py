"""The one exception that is meant for the person at the keyboard."""


class UserError(Exception):
    """Something the user can mend: one line that says what, where, and what is allowed.

    ``main`` prints it after the program's name and ends with ``exit_code``; no traceback.
    """

    def __init__(self, message: str, *, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code
