Creator "by hand"
graph [
  directed 1
  node [ id 1 label "Ann" ]
  node [ id 2 label "Bob &amp; Co" graphics [ x 1.5 y -2 ] ]
  node [ id 3 ]
  edge [ source 1 target 2 weight 2.5 ]
  edge [ source 2 target 3 weight 1 ]
  edge [ source 3 target 1 ]
]
