"""Where messages meet the parts: handlers by API key, the tasks that run them, and their
answers.
"""
