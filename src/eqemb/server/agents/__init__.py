"""A library for language-model agents: tools of the Model Context Protocol, over stdio and HTTP."""
