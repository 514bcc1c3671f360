from hutch_mcp import main

main()
