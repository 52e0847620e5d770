* * * * * root echo a dot in the name
