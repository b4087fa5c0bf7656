"""The documents that a server answers analysts with, member by member, for both sides.

The server's services make them, its routes answer them, and the client returns them. A text beside
a member's type is what the API's document says of the member, with the `Facts` beside it; another
type beside it stands there in place of the member's own. Results of queries are in
:mod:`hushpoll_shared.queries`; a model's card and a manifest are free, so they are ``JsonObject``.
"""
