"""The ``hushpoll`` command and the commands of the device and of the analyst (extra ``cli``)."""
