"""``python -m hushpoll_client``: the ``hushpoll`` command where no script is on the path."""

from hushpoll_client.cli.commandline import program

if __name__ == "__main__":
    program()
